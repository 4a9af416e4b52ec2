# A small calendar, to be sourced.

# leap YEAR: is it a leap year?
leap() {
	[ $(($1 % 4)) -eq 0 ]
}

# days YEAR MONTH: how many days the month has.
days() {
	case $2 in
	4 | 6 | 9 | 11) echo 30 ;;
	2) if leap "$1"; then echo 29; else echo 28; fi ;;
	*) echo 31 ;;
	esac
}

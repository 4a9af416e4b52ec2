# Tests of calendar.sh. Exits with 1 if one fails.
. ./calendar.sh
failed=0

# expect YEAR MONTH DAYS
expect() {
	got=$(days "$1" "$2")
	if [ "$got" = "$3" ]; then
		echo "ok   $1-$2 has $3 days"
	else
		echo "FAIL $1-$2 has $got days, want $3"
		failed=1
	fi
}

expect 2023 2 28
expect 2024 2 29
expect 2024 4 30
expect 2024 12 31
expect 1900 2 28
expect 2000 2 29
exit $failed

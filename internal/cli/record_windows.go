package cli

// noFollow has no word for links here; openRecord has looked before.
const noFollow = 0

package meter

// What providers add to the text of a request, in tokens. The documented system
// prompt for tools has up to some 800 tokens, the schema of a built-in tool up to
// some 1,300; the JSON around a block or message, which is counted but not sent
// to the model, is longer than what is put in its place.
const (
	marginBase    = 4096   // system prompts of the provider's own
	marginBlock   = 32     // role and type of a message, item or block
	marginTool    = 64     // how a tool's definition is written out
	marginBuiltIn = 10_000 // the definition of a tool that the provider has
)

// The most that one image costs, in tokens.
const (
	// Anthropic scales larger images down: to 1,600 tokens or so, and to about
	// 4,800 on models with high resolution (documentation page "Vision").
	imageAnthropic = 10_000

	// OpenAI scales images of detail low and high: the dearest documented is
	// gpt-4o-mini with 2,833 + 8 tiles of 5,667 (page "Images and vision"). With
	// detail auto or original newer models do not scale: those fill the window.
	imageOpenAI = 50_000
)

// The provider's own tools run in a loop that ends, as a paused turn, after this
// many samplings even when the model goes on calling a tool whose uses are
// spent (page "Server tools").
const serverLoop = 10

// What a request may ask for; more is refused.
const (
	maxUses    = 1000
	maxChoices = 128
	maxCount   = 1 << 31
)

/** The shape of a command: plain data, read by help, completion, the parser and the tests of the skill texts. */
import type { CommandContext } from './command-context.ts'

/** What the shell completes a value with, beside fixed choices: names that exist, from this machine or the server. */
export type ValueKind = 'contexts' | 'sources' | 'databases' | 'apps' | 'skills'

export type Argument = {
  readonly name: string
  readonly summary: string
  readonly optional?: true
  /** The last one: takes all that follow, for another program. */
  readonly rest?: true
  readonly choices?: readonly string[]
  readonly values?: ValueKind
} & FieldReading

export type Option = {
  /** Without the dashes. */
  readonly long: string
  readonly short?: string
  /** Placeholder of the value in help; an option without one is a flag. */
  readonly value?: string
  readonly summary: string
  readonly repeatable?: true
  readonly choices?: readonly string[]
  readonly values?: ValueKind
  /** Of a flag: what it stands for; true unless it says otherwise. */
  readonly sets?: unknown
  /** What is sent where it is not given. */
  readonly default?: string | readonly string[]
  /** The error where it is not given. */
  readonly missing?: { readonly problem: string; readonly hint: string }
} & FieldReading

/** Of what was made from a contract: which field of the operation's input it is, and how its text is read. */
type FieldReading = {
  readonly field?: string
  readonly as?: Reading
  readonly min?: number
  readonly max?: number
  /** Of a text, or of each in a list. */
  readonly maxLength?: number
  /** What is read from a file or stdin is called; the list that a name is looked up in. */
  readonly what?: string
  /** Of an id that may be a name, or is made of one. */
  readonly prefix?: string
  readonly example?: string
}

/** Left out: the text is sent as it is. `nullable`: an empty one is none. */
export type Reading =
  | 'number'
  | 'time'
  | 'ago'
  | 'pairs'
  | 'filters'
  | 'nullable'
  | 'name'
  | 'prefixed'
  | 'stdin'
  | 'file'
  | 'json-file'
  | 'secret'

/** Arguments and options of one call. Options are keyed by their long name; a repeatable one is a list. */
export type CommandInput = {
  readonly args: Readonly<Record<string, string | undefined>>
  /** Those of an argument that takes all that follow. */
  readonly rest?: readonly string[]
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}

/** Prints its result and throws on failure. A returned number is the exit code. */
export type Run = (ctx: CommandContext, input: CommandInput) => Promise<number | void>

export type Command = {
  /** The words of the command: `datasource query`. */
  readonly path: string
  readonly summary: string
  readonly arguments?: readonly Argument[]
  readonly options?: readonly Option[]
  /** The command that lists what the argument names; the hint when the server answers NOT_FOUND. */
  readonly listedBy?: string
  /** Complete command lines. */
  readonly examples: readonly string[]
  /** Imported when called, so that no command loads the code of another. Left out: it is one call, as the contract says. */
  readonly load?: () => Promise<Run>
}

/** A command with code of its own. What the contract of its operation says of a command with this path is added to it. */
export type HandWritten = Partial<Command> & Required<Pick<Command, 'path' | 'load'>>

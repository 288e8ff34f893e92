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
}

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
}

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
  /** Imported when called, so that no command loads the code of another. */
  readonly load: () => Promise<Run>
}

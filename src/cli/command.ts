/** What a command of `svc` is: plain data that help, completion, parsing and the check of the skill's texts read. */
import type { World } from './world.ts'

export type Argument = {
  readonly name: string
  readonly summary: string
  readonly optional?: true
  readonly choices?: readonly string[]
}

export type Option = {
  /** Without the dashes; `no-agents` takes something away. */
  readonly long: string
  readonly short?: string
  /** What stands for the value in help; an option without one is a switch. */
  readonly value?: string
  readonly summary: string
  readonly repeatable?: true
  readonly choices?: readonly string[]
}

/** What a command was called with. Options stand under their long name; a repeatable one is a list. */
export type Call = {
  readonly args: Readonly<Record<string, string | undefined>>
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}

/** Prints its answer; throws what went wrong. A number is the exit code of a finding that is no failure to run. */
export type Run = (world: World, call: Call) => Promise<number | void>

export type Command = {
  /** The words that call it: `datasource query`. */
  readonly path: string
  readonly summary: string
  readonly arguments?: readonly Argument[]
  readonly options?: readonly Option[]
  /** The command that lists what this one names; said when the server knows no such thing. */
  readonly listedBy?: string
  /** Whole command lines. */
  readonly examples: readonly string[]
  /** Loaded when called, so that no command pays for another one. */
  readonly load: () => Promise<Run>
}

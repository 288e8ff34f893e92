/** What a command works with: the machine it runs on, how its answer is written, and the server it asks. */
import type { Ask } from './ask.ts'
import type { Login } from './choose-login.ts'
import type { Machine } from './environment.ts'
import type { Format, Shape } from './write-answer.ts'

export type Settings = {
  /** The login that was named, if one was. */
  readonly context: string | undefined
  /** How the answer is written, if that was said. */
  readonly format: Format | undefined
  readonly timeoutMs: number
  readonly debug: boolean
  readonly colour: boolean
  /** Whether somebody sits there who can be asked. */
  readonly interactive: boolean
}

export type World = {
  readonly machine: Machine
  readonly settings: Settings
  /** Data, to stdout; in the format that was asked for, otherwise in the one that is usual for it. */
  readonly print: (data: unknown, shape: Shape, usually?: Format) => void
  /** A line for people, to stderr. */
  readonly say: (line: string) => void
  /** The login that counts for this call; fails where there is none. */
  readonly login: () => Promise<Login>
  /** Asks the server of that login. */
  readonly ask: Ask
}

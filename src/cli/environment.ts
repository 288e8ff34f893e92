/** What the process was given: its environment, its streams, its folders. The one file of the client that reads them. */
import { homedir } from 'node:os'
import type { Readable } from 'node:stream'

export type Machine = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  readonly platform: string
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly setRawMode?: (raw: boolean) => unknown }
  readonly stdout: Sink
  readonly stderr: Sink
}

type Sink = { readonly write: (text: string) => unknown; readonly isTTY?: boolean }

/** Getters, because every one of them costs time and few calls need all of them. */
export const thisMachine = (): Machine => ({
  env: process.env,
  platform: process.platform,
  get cwd() {
    return process.cwd()
  },
  get home() {
    return homedir()
  },
  get stdin() {
    return process.stdin
  },
  get stdout() {
    return process.stdout
  },
  get stderr() {
    return process.stderr
  },
})

/** Set by the coding agents that say so of themselves. */
const AGENT_VARIABLES = [
  'AI_AGENT',
  'CLAUDECODE',
  'CLAUDE_CODE',
  'CODEX_SANDBOX',
  'CODEX_CI',
  'CODEX_THREAD_ID',
  'GEMINI_CLI',
  'CURSOR_AGENT',
  'OPENCODE',
  'COPILOT_CLI',
  'AUGMENT_AGENT',
]

export const isAgent = ({ env }: Machine): boolean => AGENT_VARIABLES.some((name) => Boolean(env[name]))

/** https://no-color.org, https://bixense.com/clicolors: what was asked for wins, then what the terminal can do. */
export function wantsColour({ env, stderr }: Machine): boolean {
  if (env['NO_COLOR']) return false
  if (env['CLICOLOR_FORCE'] && env['CLICOLOR_FORCE'] !== '0') return true
  return Boolean(stderr.isTTY) && env['TERM'] !== 'dumb'
}

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

export const thisMachine = (): Machine => ({
  env: process.env,
  cwd: process.cwd(),
  home: homedir(),
  platform: process.platform,
  // A getter, because opening stdin costs time and most commands never look at it.
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
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

/** What the process was given: its environment, its streams, its folders. The one file of the client that reads them. */
import { writeSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Readable } from 'node:stream'

export type Machine = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  readonly platform: string
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly setRawMode?: (raw: boolean) => unknown }
  readonly stdout: Sink
  readonly stderr: Sink & { readonly isTTY?: boolean }
}

type Sink = { readonly write: (text: string) => unknown }

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
  stdout: { write: writeOut },
  get stderr() {
    return process.stderr
  },
})

/** Not by `process.stdout`, which takes longer to open than help takes to write. */
function writeOut(text: string): void {
  let rest = Buffer.from(text)
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(1, rest))
  } catch (error) {
    const { code } = error as { code?: string }
    // `svc … | head` closes the pipe when it has enough; that is no failure of ours.
    if (code === 'EPIPE') process.exit(0)
    // Somebody made the terminal or the pipe one that does not wait; the stream knows how to.
    if (code !== 'EAGAIN') throw error
    process.stdout.write(rest)
  }
}

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

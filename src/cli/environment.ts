/** The environment of the process: variables, streams, folders. The only file of the client that reads them. */
import { fstatSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Readable } from 'node:stream'

export type Environment = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  readonly platform: string
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly setRawMode?: (raw: boolean) => unknown }
  readonly stdout: Sink & { readonly isTTY?: boolean }
  readonly stderr: Sink & { readonly isTTY?: boolean }
  /** Shows a long text page by page; false: it cannot. */
  readonly showInPager?: (text: string) => Promise<boolean>
  /** Opens a URL in the browser of this machine; false: it cannot. */
  readonly openInBrowser?: (url: string) => Promise<boolean>
}

type Sink = { readonly write: (text: string | Uint8Array) => unknown }

/** Getters, because each costs time and few calls need all of them. */
export const processEnvironment = (): Environment => ({
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
  stdout: {
    write: writeOut,
    get isTTY() {
      // Of the devices that take text, those that are no terminal do not mind.
      return fstatSync(1).isCharacterDevice()
    },
  },
  get stderr() {
    return process.stderr
  },
  showInPager: async (text) =>
    process.platform !== 'win32' && (await import('./pager.ts')).showInPager(text, process.env),
  openInBrowser: async (url) =>
    (await import('./browser.ts')).openInBrowser(url, process.platform, process.env),
})

/** Not `process.stdout`, which takes longer to open than help takes to print. */
function writeOut(text: string | Uint8Array): void {
  let rest = Buffer.from(text)
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(1, rest))
  } catch (error) {
    const { code } = error as { code?: string }
    // `svc … | head` closes the pipe early; that is not an error.
    if (code === 'EPIPE') process.exit(0)
    // A non-blocking pipe or terminal: the stream waits for it.
    if (code !== 'EAGAIN') throw error
    process.stdout.write(rest)
  }
}

/** Variables that coding agents set for the commands they run. */
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

export const isAgent = ({ env }: Environment): boolean => AGENT_VARIABLES.some((name) => Boolean(env[name]))

/** https://no-color.org, https://bixense.com/clicolors: explicit settings first, then what the terminal can do. */
export function wantsColor({ env, stderr }: Environment): boolean {
  if (env['NO_COLOR']) return false
  if (env['CLICOLOR_FORCE'] && env['CLICOLOR_FORCE'] !== '0') return true
  return Boolean(stderr.isTTY) && env['TERM'] !== 'dumb'
}

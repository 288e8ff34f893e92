/** Opens a URL in the browser of the desktop. */
import { spawn } from 'node:child_process'

type Env = Readonly<Record<string, string | undefined>>

/** Long enough for a program that fails at once, short enough for one that stays. */
const SETTLED_MS = 1_500

/** False: there is none, and nothing was shown. */
export async function openInBrowser(url: string, platform: string, env: Env): Promise<boolean> {
  const [program, ...args] = commandFor(platform, env)
  const { SVC_API_KEY: _token, ...rest } = env
  const child = spawn(program!, [...args, url], { stdio: 'ignore', detached: true, env: rest })
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(true), SETTLED_MS)
    const settle = (shown: boolean) => {
      clearTimeout(timer)
      // A browser that it started itself lives on.
      child.unref()
      resolve(shown)
    }
    child.once('error', () => settle(false)).once('exit', (code) => settle(code === 0))
  })
}

/** The URL comes after it. */
export function commandFor(platform: string, env: Env): string[] {
  // Some desktops list several, and arguments; the first word of the first is the program.
  const named = env['BROWSER']?.split(':')[0]?.trim()
  if (named) return named.replaceAll('%s', '').trim().split(/\s+/)
  if (platform === 'darwin') return ['open']
  // Not `start` of cmd, which reads & and others in a URL as its own.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return ['xdg-open']
}

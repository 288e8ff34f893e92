/** An environment for tests: nothing of the real one, and all output is kept. */
import { Readable } from 'node:stream'
import type { Environment } from '../../src/cli/environment.ts'

export type FakeEnvironment = Environment & {
  readonly out: () => string
  readonly err: () => string
}

export function fakeEnvironment({
  env = {},
  home = '/nowhere',
  cwd = '/nowhere',
  stdin = '',
  terminal = false,
}: {
  env?: Record<string, string>
  home?: string
  cwd?: string
  stdin?: string
  terminal?: boolean
} = {}): FakeEnvironment {
  const [out, err]: [string[], string[]] = [[], []]
  return {
    env,
    home,
    cwd,
    platform: 'linux',
    stdin: Object.assign(Readable.from(stdin === '' ? [] : [stdin]), { isTTY: terminal }),
    stdout: { write: (text) => out.push(Buffer.from(text).toString()), isTTY: terminal },
    stderr: { write: (text) => err.push(Buffer.from(text).toString()), isTTY: terminal },
    out: () => out.join(''),
    err: () => err.join(''),
  }
}

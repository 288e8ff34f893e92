/** Shows a long text in the pager of whoever reads it, as git does: `$PAGER`, or less, which ends if the text fits. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

type Env = Readonly<Record<string, string | undefined>>

/** Colors, and what fits is just printed; what `LESS` says itself is kept. */
const LESS = 'FRX'
/** Of a shell that does not find the command. */
const NOT_FOUND = 127
/** Many containers have none, which is nothing to complain about. */
const DEFAULT = `command -v less > /dev/null || exit ${NOT_FOUND}; exec less`

/** False: there is none, and the text has not been shown. */
export async function showInPager(text: string, env: Env): Promise<boolean> {
  const { SVC_API_KEY: _token, ...rest } = env
  const pager = rest['PAGER'] ?? DEFAULT
  if (pager === '' || pager === 'cat') return false
  const child = spawn('/bin/sh', ['-c', pager], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS, ...rest },
  })
  // Ctrl-C is for the pager; ours would leave it behind on the terminal.
  const ignore = () => {}
  process.on('SIGINT', ignore)
  try {
    // Whoever quits in the middle of the text closes the pipe.
    child.stdin.on('error', ignore)
    child.stdin.end(text)
    const [code] = (await once(child, 'close')) as [number | null]
    return code !== NOT_FOUND
  } catch {
    return false
  } finally {
    process.off('SIGINT', ignore)
  }
}

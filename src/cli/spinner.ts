/** A spinner on stderr while a request is under way; at a terminal only. */
import type { CommandContext } from './command-context.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
/** Faster requests show none. */
const DELAY_MS = 400
const FRAME_MS = 80

export async function withSpinner<T>(
  { settings, environment }: Pick<CommandContext, 'settings' | 'environment'>,
  work: Promise<T>,
): Promise<T> {
  if (!settings.interactive || !settings.color) return work
  let frame = 0
  let shown = false
  const began = Date.now()
  const timer = setInterval(() => {
    if (Date.now() - began < DELAY_MS) return
    shown = true
    environment.stderr.write(`\r${FRAMES[frame++ % FRAMES.length]} `)
  }, FRAME_MS)
  try {
    return await work
  } finally {
    clearInterval(timer)
    if (shown) environment.stderr.write('\r  \r')
  }
}

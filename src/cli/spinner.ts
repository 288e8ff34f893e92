/** A sign of life on stderr while the server thinks; for people at a terminal only. */
import type { World } from './world.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
/** What is quicker than this needs no sign. */
const PATIENCE_MS = 400
const FRAME_MS = 80

export async function whileSpinning<T>(
  { settings, machine }: Pick<World, 'settings' | 'machine'>,
  work: Promise<T>,
): Promise<T> {
  if (!settings.interactive || !settings.colour) return work
  let frame = 0
  let shown = false
  const began = Date.now()
  const turning = setInterval(() => {
    if (Date.now() - began < PATIENCE_MS) return
    shown = true
    machine.stderr.write(`\r${FRAMES[frame++ % FRAMES.length]} `)
  }, FRAME_MS)
  try {
    return await work
  } finally {
    clearInterval(turning)
    if (shown) machine.stderr.write('\r  \r')
  }
}

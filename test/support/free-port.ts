/** A port of loopback nobody listens on, for a program that must know its address before it starts. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below those that systems hand to outgoing connections: one of these could take it before the program does. */
const [FROM, TO] = [15_000, 32_000]

export async function freePort(): Promise<number> {
  const port = randomInt(FROM, TO)
  const isFree = await new Promise<boolean>((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
  return isFree ? port : freePort()
}

/** Validations as they are where the auth-service runs in the same process as whoever asks it: without HTTP. */
import { readConfig } from '../src/boot/config.ts'
import { createSystem } from '../src/boot/system.ts'
import { httpClient } from '../src/client/http-client.ts'
import { validateToken } from '../src/contracts/tokens.ts'
import { createLogger } from '../src/observe/log.ts'
import { inLanes } from './load.ts'

const { tokens, count, rounds } = JSON.parse(process.argv[2]!) as {
  tokens: readonly string[]
  count: number
  rounds: number
}
const log = createLogger({ level: 'warn', pretty: false, write: () => {}, clock: () => new Date() })
const system = await createSystem(readConfig({ ...process.env, SVC_SERVICES: 'auth-service' }), log)
const call = httpClient(system.services.get('auth-service')!, { address: '127.0.0.1' })

const seen: number[] = []
// The first warms up, and the cluster is asked; it does not count.
for (let round = 0; round <= rounds; round++) {
  let n = 0
  const before = process.cpuUsage()
  await inLanes(count, async () => {
    const { kind } = await call(validateToken, { token: tokens[n++ % tokens.length]!, audience: 'api' })
    if (kind !== 'workload') throw new Error(`it is ${kind}`)
  })
  const { user, system: kernel } = process.cpuUsage(before)
  if (round > 0) seen.push((user + kernel) / 1000 / count)
}
await system.stop()
console.log(`seen ${JSON.stringify(seen)}\n`)

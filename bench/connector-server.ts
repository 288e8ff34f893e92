/** The server of the connector bench: the whole product, and the keys of an identity provider that is nowhere. */
import type { GuardedFetch } from '../src/cores/dependencies.ts'
import { readConfig } from '../src/boot/config.ts'
import { createLogger } from '../src/observe/log.ts'
import { start } from '../src/boot/start.ts'

const { env, keys } = JSON.parse(process.argv[2]!) as { env: Record<string, string>; keys: object }

const body = new TextEncoder().encode(JSON.stringify(keys))
const guardedFetch: GuardedFetch = async () => ({ status: 200, headers: new Headers(), body })

const config = readConfig(env)
const log = createLogger({
  level: config.LOG_LEVEL,
  pretty: false,
  write: (line) => process.stdout.write(line),
  clock: () => new Date(),
})
await start(config, log, { overrides: { guardedFetch } })

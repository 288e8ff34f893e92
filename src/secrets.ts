/** The secrets of this process: given by the operator, or made once beside the embedded database. */
import { randomBytes } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { ConfigProblems, SECRET_KEYS, type Config, type SecretKey, type ServiceName } from './config.ts'
import { isEmbedded } from './services.ts'

export type Secrets = Partial<Record<SecretKey, string>>

/** Which service needs which: a process gets no secret it has no use for. */
const NEEDED: Record<ServiceName, (config: Config) => readonly SecretKey[]> = {
  'auth-service': () => ['JWT_SECRET', 'JWT_SIGNING_KEY', 'ACTOR_ASSERTION_SECRET'],
  // It opens what is sealed: logins of managed databases.
  'api-gateway': (config) =>
    config.AUTH_MODE === 'hosted' ? ['ACTOR_ASSERTION_SECRET', 'DATA_KEY'] : ['DATA_KEY'],
  // It reads agents' tokens (first secret) and signs for them (third); it can make neither sessions nor API tokens.
  'mcp-server': (config) =>
    config.AUTH_MODE === 'hosted' ? ['ACTOR_ASSERTION_SECRET'] : ['JWT_SECRET', 'ACTOR_ASSERTION_SECRET'],
  'deploy-api': (config) => (config.AUTH_MODE === 'hosted' ? ['ACTOR_ASSERTION_SECRET'] : []),
  console: () => [],
  site: () => [],
  // It opens what is sealed: the addresses and keys of connections.
  worker: () => ['DATA_KEY'],
}

export async function readSecrets(config: Config): Promise<Secrets> {
  const given: Secrets = Object.fromEntries(
    SECRET_KEYS.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]]])),
  )
  // Elsewhere several processes must agree, so nothing is made up there.
  const all = isEmbedded(config) ? { ...(await keptSecrets(config.SVC_DATA_DIR)), ...given } : given
  const needed = new Set(config.SVC_SERVICES.flatMap((name) => NEEDED[name](config)))
  const missing = [...needed].filter((key) => all[key] === undefined)
  if (missing.length > 0) {
    throw new ConfigProblems(missing.map((key) => `${key}: needed by ${neededBy(key, config)}`))
  }
  return all
}

const neededBy = (key: SecretKey, config: Config): string =>
  config.SVC_SERVICES.filter((name) => NEEDED[name](config).includes(key)).join(', ')

const Kept = z.record(z.enum(SECRET_KEYS), z.string().regex(/^[0-9a-f]{64}$/))

async function keptSecrets(folder: string): Promise<Secrets> {
  const file = join(folder, 'secrets.json')
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text !== undefined) {
    const kept = Kept.safeParse(parseJson(text))
    if (kept.success) return kept.data
    throw new Error(
      `${file} does not hold the four secrets any more. Restore it from a copy: without it every token ends.`,
    )
  }
  const made = Object.fromEntries(SECRET_KEYS.map((key) => [key, randomBytes(32).toString('hex')]))
  await writePrivately(file, `${JSON.stringify(made, null, 2)}\n`)
  return made
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whole or not at all, and readable by nobody else at any moment. */
export async function writePrivately(file: string, text: string): Promise<void> {
  // Processes that share a folder may write the same file at the same moment.
  const partial = `${file}.partial-${process.pid}`
  // One that was left behind might be readable, and would keep its mode.
  await rm(partial, { force: true })
  const handle = await open(partial, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(partial, file)
}

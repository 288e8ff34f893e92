/** The secrets of this process: set by the operator, or generated once in the data folder. */
import { randomBytes } from 'node:crypto'
import { open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { readJson } from '../contracts/read-json.ts'
import { ConfigProblems, SECRET_KEYS, type Config, type SecretKey, type ServiceName } from './config.ts'
import { isEmbedded } from './services.ts'

export type Secrets = Partial<Record<SecretKey, string>>

/** Which service needs which secrets. */
const NEEDED: Record<ServiceName, (config: Config) => readonly SecretKey[]> = {
  'auth-service': (config) => [
    'JWT_SECRET',
    'JWT_SIGNING_KEY',
    'ACTOR_ASSERTION_SECRET',
    // What it writes there is sealed.
    ...(config.ENDINGS_JOURNAL === undefined ? [] : (['DATA_KEY'] as const)),
  ],
  // It opens sealed logins of managed databases.
  'api-gateway': (config) =>
    config.AUTH_MODE === 'hosted' ? ['ACTOR_ASSERTION_SECRET', 'DATA_KEY'] : ['DATA_KEY'],
  // It verifies agents' tokens (first secret) and signs assertions (third); it can create neither sessions nor API tokens.
  'mcp-server': (config) =>
    config.AUTH_MODE === 'hosted' ? ['ACTOR_ASSERTION_SECRET'] : ['JWT_SECRET', 'ACTOR_ASSERTION_SECRET'],
  // It seals the headers of checks.
  'deploy-api': (config) =>
    config.AUTH_MODE === 'hosted' ? ['ACTOR_ASSERTION_SECRET', 'DATA_KEY'] : ['DATA_KEY'],
  console: () => [],
  site: () => [],
  // It opens sealed addresses and keys of integrations.
  worker: () => ['DATA_KEY'],
  // The keys of models are enough: it opens nothing that is stored.
  'agent-runner': () => [],
}

export async function readSecrets(config: Config): Promise<Secrets> {
  const configured: Secrets = Object.fromEntries(
    SECRET_KEYS.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]]])),
  )
  // With a Postgres server several processes must share them, so none are generated.
  const all = isEmbedded(config)
    ? { ...(await storedSecrets(config.SVC_DATA_DIR)), ...configured }
    : configured
  const needed = new Set(config.SVC_SERVICES.flatMap((name) => NEEDED[name](config)))
  const missing = [...needed].filter((key) => all[key] === undefined)
  if (missing.length > 0) {
    throw new ConfigProblems(missing.map((key) => `${key}: required by ${neededBy(key, config)}`))
  }
  return all
}

const neededBy = (key: SecretKey, config: Config): string =>
  config.SVC_SERVICES.filter((name) => NEEDED[name](config).includes(key)).join(', ')

const StoredSecrets = z.record(z.enum(SECRET_KEYS), z.string().regex(/^[0-9a-f]{64}$/))

async function storedSecrets(folder: string): Promise<Secrets> {
  const file = join(folder, 'secrets.json')
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text !== undefined) {
    const stored = StoredSecrets.safeParse(readJson(text))
    if (stored.success) return stored.data
    throw new Error(
      `${file} is damaged. Restore it from a backup: without these secrets every token is invalid.`,
    )
  }
  const generated = Object.fromEntries(SECRET_KEYS.map((key) => [key, randomBytes(32).toString('hex')]))
  await writePrivateFile(file, `${JSON.stringify(generated, null, 2)}\n`)
  return generated
}

/** Atomic, and never readable by anybody else. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  // Processes that share a folder may write the same file at the same moment.
  const partial = `${file}.partial-${process.pid}`
  // A leftover might be readable by others, and would keep its mode.
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

/** What a start that was killed has left of them; they hold secrets. Only for whoever has the folder to itself. */
export async function removePartialFiles(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => PARTIAL_FILE.test(name))
  await Promise.all(names.map((name) => rm(join(folder, name), { force: true })))
}
const PARTIAL_FILE = /^(secrets\.json|first-run\.(json|txt))\.partial-\d+$/

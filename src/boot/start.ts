/** Starts the chosen services, prints their address, and stops them on a signal. */
import { lockDataFolder } from '../../db/data-folder-lock.ts'
import { openEmbedded, type Embedded } from '../../db/embedded.ts'
import type { AuthDeps } from '../../oauth/dependencies.ts'
import type { Config } from './config.ts'
import type { Logger } from '../observe/log.ts'
import { isEmbedded } from './services.ts'
import type { Overrides } from './system.ts'

type Options = { readonly empty?: boolean; readonly overrides?: Overrides }

export async function start(
  config: Config,
  log: Logger,
  { empty = false, overrides = {} }: Options = {},
): Promise<void> {
  const stopped = stopSignal()
  const closers: (() => Promise<void> | void)[] = []
  try {
    const embedded = openEmbeddedDatabase(config, closers)
    // Only now: the database opens in its own thread while this one loads the program.
    const [{ createSystem }, { listen, listenForMetrics }, { firstRun }, { loadSample }] = await Promise.all([
      import('./system.ts'),
      import('./listener.ts'),
      import('./first-run.ts'),
      import('../sample/load-sample.ts'),
    ])
    const system = await createSystem(config, log, { embedded, ...overrides })
    closers.push(() => system.stop())
    const metrics = await listenForMetrics(system)
    if (metrics) closers.push(() => metrics.stop())
    // Before the port opens, so that the first request finds an owner.
    const terminal = process.stdout.isTTY
    // Not for an organization with a name of its own, nor where no api-gateway runs to load it.
    const sample = !empty && config.SVC_ORG === undefined && system.gateway !== undefined
    const first = system.auth && (await firstRun({ config, auth: system.auth, terminal, sample }))
    await system.managed?.open()
    if (system.gateway) await loadSample(system.gateway, { alone: isEmbedded(config) })
    if (system.auth && isEmbedded(config)) closers.push(await openControls(config, system.auth, log))
    const listening = await listen(system)
    closers.push(() => listening.stop())
    system.startJobs()
    for (const line of first?.lines ?? addressLines(config)) process.stdout.write(`${line}\n`)
    await first?.discardPlan()
    log.info('ready', { services: config.SVC_SERVICES, port: listening.port, database: databaseKind(config) })
    log.info('stopping', { because: await stopped })
  } finally {
    for (const close of closers.toReversed()) await close()
  }
  log.info('stopped')
}

/** With a Postgres server, commands reach the database themselves. */
async function openControls(config: Config, auth: AuthDeps, log: Logger): Promise<() => Promise<void>> {
  const [{ openControlSocket }, { createOperatorResetLink }] = await Promise.all([
    import('./control-socket.ts'),
    import('../cores/identity/index.ts'),
  ])
  return openControlSocket(
    config.SVC_DATA_DIR,
    {
      async resetPassword(email) {
        if (!auth.passwordSignIn) return { error: 'Password sign-in is off where the server runs.' }
        return { link: (await createOperatorResetLink(auth, email)) ?? null }
      },
    },
    log,
  )
}

/** Locks the data folder and opens the embedded database in it. */
function openEmbeddedDatabase(
  config: Config,
  closers: (() => Promise<void> | void)[],
): Promise<Embedded> | undefined {
  if (!isEmbedded(config)) return undefined
  const lock = lockDataFolder(config.SVC_DATA_DIR)
  closers.push(() => lock.release())
  const embedded = openEmbedded(config.SVC_DATA_DIR)
  // A failure is reported where it is awaited; until then it must not end the process as unhandled.
  embedded.catch(() => {})
  // Also when nothing connected to it: it would keep the process alive, and use the folder without a lock.
  closers.push(() =>
    embedded.then(
      (opened) => opened.close(),
      () => {},
    ),
  )
  return embedded
}

const addressLines = (config: Config): string[] =>
  config.SVC_SERVICES.includes('console') ? [`Console: ${config.APP_URL.origin}/console`] : []

function databaseKind(config: Config): string {
  if (isEmbedded(config)) return 'embedded'
  return config.DATABASE_URL === undefined ? 'none' : 'postgres'
}

/**
 * npm and the launcher pass on a signal that a terminal, systemd or `timeout` has sent to the whole group already, so
 * the same signal may arrive twice.
 */
const DUPLICATE_SIGNAL_MS = 1_000

/** A second signal ends the process at once: whoever presses Ctrl-C twice does not want to wait. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let firstAt: number | undefined
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        firstAt ??= performance.now()
        if (performance.now() - firstAt > DUPLICATE_SIGNAL_MS) process.exit(1)
        resolve(signal)
      })
    }
  })
}

/** Starts the chosen services, prints their address, and stops them on a signal. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { dataFolderError, isDiskFull } from '../../db/data-folder.ts'
import { lockDataFolder } from '../../db/data-folder-lock.ts'
import { finishRestore } from '../../db/finish-restore.ts'
import {
  databaseFolder,
  ensureDatabase,
  holdsDatabase,
  openDatabaseFolder,
  type Embedded,
} from '../../db/embedded.ts'
import { discardEngineAhead } from '../../db/engine-thread.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import type { AuthDeps } from '../../oauth/dependencies.ts'
import { logFormatOf, type Config } from './config.ts'
import type { Logger } from '../observe/log.ts'
import { requireDiskSpace } from './disk-space.ts'
import { RUNS_FROM } from './runs-from.ts'
import { removePartialFiles } from './secrets.ts'
import { isEmbedded } from './services.ts'
import { logDisplay, startSteps, type StartSteps } from './start-steps.ts'
import type { Overrides } from './system.ts'
import { PortInUse, tryPorts } from './try-ports.ts'

type Options = { readonly empty?: boolean; readonly steps?: StartSteps; readonly overrides?: Overrides }

export async function start(
  config: Config,
  log: Logger,
  { empty = false, steps = startSteps(logDisplay(log)), overrides = {} }: Options = {},
): Promise<void> {
  const stopped = stopSignal()
  const closers: (() => Promise<void> | void)[] = []
  try {
    await tryPorts(config).catch((error: unknown) => {
      if (error instanceof PortInUse) refuseUsedFolder(config)
      throw error
    })
    const embedded = await openEmbeddedDatabase(config, { closers, steps, log })
    // Only now: the database opens in its own thread while this one loads the program.
    const [{ createSystem }, { listen, listenForMetrics }, { firstRun }, { loadSample }] = await Promise.all([
      import('./system.ts'),
      import('./listener.ts'),
      import('./first-run.ts'),
      import('../sample/load-sample.ts'),
    ])
    const building = createSystem(config, log, { embedded: embedded?.database, ...overrides })
    // It may fail while the database is still opening, and is awaited after that.
    building.catch(() => {})
    const isOpen = await (embedded?.shown ?? true)
    const system = await (isOpen ? steps.run('Starting the services', () => building) : building)
    closers.push(() => system.stop())
    const metrics = await listenForMetrics(system)
    if (metrics) closers.push(() => metrics.stop())
    // Before the port opens, so that the first request finds an owner.
    const isText = logFormatOf(config) === 'text'
    const terminal = isText && process.stdout.isTTY
    // Not for an organization with a name of its own, nor where no api-gateway runs to load it.
    const sample = !empty && config.SVC_ORG === undefined && system.gateway !== undefined
    const { auth, gateway, managed } = system
    const owner = embedded?.isNew ? 'Making the first owner' : 'Looking for an owner'
    const first = auth && (await steps.run(owner, () => firstRun({ config, auth, terminal, sample })))
    if (first) steps.showAll()
    await steps.run(first && sample ? 'Loading the sample' : 'Opening managed databases', async () => {
      await managed?.open()
      if (gateway) await loadSample(gateway, { alone: isEmbedded(config) })
    })
    if (system.auth && isEmbedded(config)) closers.push(await openControls(config, system.auth, log))
    const listening = await listen(system)
    closers.push(() => listening.stop())
    system.startJobs()
    const console = config.SVC_SERVICES.includes('console') ? `${config.APP_URL.origin}/console` : undefined
    if (isText) {
      for (const line of first?.lines ?? (console ? [`Console: ${console}`] : []))
        process.stdout.write(`${line}\n`)
      // A password that nobody finds is worse than a line too many: also where only warnings are written.
    } else if (first) log.warn('welcome', first.record)
    await first?.discardPlan()
    log.info('ready', {
      services: config.SVC_SERVICES,
      port: listening.port,
      console,
      database: databaseKind(config),
      program: RUNS_FROM,
    })
    log.info('stopping', { because: await stopped })
  } catch (error) {
    // It may fill at any moment, and every library says it in its own way.
    if (isEmbedded(config) && isDiskFull(error)) throw dataFolderError(config.SVC_DATA_DIR, error) ?? error
    throw error
  } finally {
    for (const close of closers.toReversed()) await close()
  }
  log.info('stopped')
}

/** Whoever starts the same installation twice is told so, not to choose another port. */
function refuseUsedFolder(config: Config): void {
  if (isEmbedded(config) && existsSync(join(config.SVC_DATA_DIR, 'lock'))) {
    lockDataFolder(config.SVC_DATA_DIR).release()
  }
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

type OpeningDatabase = {
  readonly isNew: boolean
  readonly database: Promise<Embedded>
  /** Its step is over; false: it failed. */
  readonly shown: Promise<boolean>
}

/** Locks the data folder and opens the embedded database in it. */
async function openEmbeddedDatabase(
  config: Config,
  { closers, steps, log }: { closers: (() => Promise<void> | void)[]; steps: StartSteps; log: Logger },
): Promise<OpeningDatabase | undefined> {
  if (!isEmbedded(config)) {
    discardEngineAhead()
    return undefined
  }
  const folder = config.SVC_DATA_DIR
  const lock = lockDataFolder(folder)
  closers.push(() => lock.release())
  await removePartialFiles(folder)
  if (await finishRestore(folder)) log.warn('finished a restore that was interrupted')
  // An empty folder counts as none: it may be a volume of its own.
  const isNew = !(await holdsDatabase(databaseFolder(folder)))
  if (isNew) {
    requireDiskSpace(folder)
    steps.showAll()
  }
  const made = readMigrations().then((migrations) => ensureDatabase(folder, migrations))
  const database = made.then(() => openDatabaseFolder(databaseFolder(folder)))
  const shown = steps
    .run(isNew ? 'Making the database' : 'Opening the database', () => database)
    // A failure is reported where the database is awaited; until then it must not end the process as unhandled.
    .then(
      () => true,
      () => false,
    )
  // Also when nothing connected to it: it would keep the process alive, and use the folder without a lock.
  closers.push(() =>
    database.then(
      (opened) => opened.close(),
      () => {},
    ),
  )
  // From then on the engine's thread opens it by itself. Begun earlier, loading the program would hold up every step before.
  await made.catch(() => {})
  return { isNew, database, shown }
}

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

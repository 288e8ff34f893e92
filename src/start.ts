/** Starts the chosen services, says where they are, and stops them when asked to. */
import { lockDataFolder } from '../db/data-folder-lock.ts'
import { openEmbedded, type Embedded } from '../db/embedded.ts'
import type { Config } from './config.ts'
import type { Logger } from './observe/log.ts'
import { isEmbedded } from './services.ts'

export async function start(config: Config, log: Logger, { empty = false } = {}): Promise<void> {
  const stopAsked = stopSignal()
  const closers: (() => Promise<void> | void)[] = []
  try {
    const embedded = sendForDatabase(config, closers)
    // Only now: the database opens in its own thread while this one loads the program.
    const [{ createSystem }, { listen }, { listenForMetrics }, { firstRun }, { loadSample }] =
      await Promise.all([
        import('./system.ts'),
        import('./listener.ts'),
        import('./metrics-listener.ts'),
        import('./first-run.ts'),
        import('./sample.ts'),
      ])
    const system = await createSystem(config, log, { embedded })
    closers.push(() => system.stop())
    const metrics = await listenForMetrics(system)
    if (metrics) closers.push(() => metrics.stop())
    // Before the port opens: whoever reaches us finds an owner and not an empty house.
    const terminal = process.stdout.isTTY
    // One with a name of its own is meant for work. Elsewhere than here nobody could load the sample.
    const sample = !empty && config.SVC_ORG === undefined && system.gateway !== undefined
    const first = system.auth && (await firstRun({ config, auth: system.auth, terminal, sample }))
    await system.managed?.open()
    if (system.gateway) await loadSample(system.gateway, { alone: isEmbedded(config) })
    const listening = await listen(system)
    closers.push(() => listening.stop())
    for (const line of first?.lines ?? laterWords(config)) process.stdout.write(`${line}\n`)
    await first?.wereSaid()
    log.info('ready', { services: config.SVC_SERVICES, port: listening.port, database: databaseWord(config) })
    log.info('stopping', { because: await stopAsked })
  } finally {
    for (const close of closers.toReversed()) await close()
  }
  log.info('stopped')
}

/** Takes the data folder for this process, and opens the embedded database in it. */
function sendForDatabase(
  config: Config,
  closers: (() => Promise<void> | void)[],
): Promise<Embedded> | undefined {
  if (!isEmbedded(config)) return undefined
  const lock = lockDataFolder(config.SVC_DATA_DIR)
  closers.push(() => lock.release())
  const embedded = openEmbedded(config.SVC_DATA_DIR)
  // Whoever awaits it hears of a failure; until then it must not end the process as an unhandled one.
  embedded.catch(() => {})
  // Also where nobody came to connect to it: it would keep the process alive, and the folder in use without a lock.
  closers.push(() =>
    embedded.then(
      (opened) => opened.close(),
      () => {},
    ),
  )
  return embedded
}

const laterWords = (config: Config): string[] =>
  config.SVC_SERVICES.includes('console') ? [`Console ${config.APP_URL.origin}/console`] : []

function databaseWord(config: Config): string {
  if (isEmbedded(config)) return 'embedded'
  return config.DATABASE_URL === undefined ? 'none' : 'postgres'
}

/**
 * npm and the launcher pass on a signal that a terminal, systemd or `timeout` has sent to the whole group already, so
 * the same wish may come twice within a moment.
 */
const SAME_WISH_MS = 1_000

/** The second signal means it: whoever presses Ctrl-C twice does not want to wait. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let askedAt: number | undefined
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        askedAt ??= performance.now()
        if (performance.now() - askedAt > SAME_WISH_MS) process.exit(1)
        resolve(signal)
      })
    }
  })
}

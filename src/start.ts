/** Starts the chosen services, says where they are, and stops them when asked to. */
import type { Config } from './config.ts'
import { firstRun } from './first-run.ts'
import { listen } from './listener.ts'
import { listenForMetrics } from './metrics-listener.ts'
import type { Logger } from './observe/log.ts'
import { createSystem, type System } from './system.ts'

export async function start(config: Config, log: Logger): Promise<void> {
  const stopAsked = stopSignal()
  const system = await createSystem(config, log)
  const closers = [() => system.stop()]
  try {
    const metrics = await listenForMetrics(system)
    if (metrics) closers.push(() => metrics.stop())
    // Before the port opens: whoever reaches us finds an owner and not an empty house.
    const words = await welcome(system)
    const listening = await listen(system)
    closers.push(() => listening.stop())
    for (const line of words) process.stdout.write(`${line}\n`)
    log.info('ready', { services: config.SVC_SERVICES, port: listening.port, database: databaseWord(config) })
    log.info('stopping', { because: await stopAsked })
  } finally {
    for (const close of closers.reverse()) await close()
  }
  log.info('stopped')
}

async function welcome(system: System): Promise<string[]> {
  const { config, auth } = system
  const terminal = process.stdout.isTTY === true
  const first = auth && (await firstRun({ config, auth, terminal }))
  if (first) return first
  return config.SVC_SERVICES.includes('console') ? [`Console ${config.APP_URL.origin}/console`] : []
}

const databaseWord = (config: Config): string => (config.DATABASE_URL === undefined ? 'embedded' : 'postgres')

/** The second signal means it: whoever presses Ctrl-C twice does not want to wait. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let asked = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(1)
        asked = true
        resolve(signal)
      })
    }
  })
}

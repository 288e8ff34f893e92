/** `svc db psql`: psql on a managed database. The password is in its environment, where other users do not see it. */
import { ServiceError } from '../../contracts/errors.ts'
import type { Output } from '../../contracts/operations.ts'
import type { Run } from '../command.ts'
import { argument } from '../options.ts'

type Env = Readonly<Record<string, string | undefined>>

export const openPsql: Run = async (ctx, input) => {
  const connection = await ctx.callOperation('showConnectionString', { name: argument(input, 'name') })
  const code = await runPsql(input.rest ?? [], psqlEnvironment(ctx.environment.env, connection))
  if (code === 0) return
  // Its own code would be one of ours with another meaning: 3 is a script that failed there.
  throw new ServiceError('UNEXPECTED', `psql ended with exit code ${code}`)
}

/** Nothing of libpq's own variables: PGSERVICE and PGHOSTADDR would lead elsewhere, with this password. */
function psqlEnvironment(env: Env, connection: Output<'showConnectionString'>): Env {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('PG') && name !== 'SVC_API_KEY')
  const { host, port, user, password, database, url } = connection
  const sslmode = new URL(url).searchParams.get('sslmode')
  return {
    ...Object.fromEntries(kept),
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    ...(sslmode !== null && { PGSSLMODE: sslmode }),
  }
}

async function runPsql(args: readonly string[], env: Env): Promise<number> {
  const { spawn } = process.getBuiltinModule('node:child_process')
  const child = spawn('psql', args, { stdio: 'inherit', env })
  // Ctrl-C cancels a statement in psql; ours would leave it behind on the terminal.
  const ignore = () => {}
  const passOn = (signal: NodeJS.Signals) => void child.kill(signal)
  process.on('SIGINT', ignore).on('SIGTERM', passOn).on('SIGHUP', passOn)
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', (error) => reject(notStarted(error)))
      child.once('exit', (code) => resolve(code ?? 1))
    })
  } finally {
    process.off('SIGINT', ignore).off('SIGTERM', passOn).off('SIGHUP', passOn)
  }
}

const notStarted = (error: Error & { code?: string }): ServiceError =>
  error.code === 'ENOENT'
    ? new ServiceError('UNEXPECTED', 'psql is not installed, or not on the PATH', {
        hint: 'Install the client of Postgres (Debian: postgresql-client, Homebrew: libpq), or use another one with: svc db connect',
        cause: error,
      })
    : new ServiceError('UNEXPECTED', 'psql could not be started', { cause: error })

/** `svc-server reset-password EMAIL`: a link with which somebody chooses a new password, without a mail server. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../../db/connect.ts'
import { makeDataFolder } from '../../db/data-folder.ts'
import { lockDataFolder } from '../../db/data-folder-lock.ts'
import { Email } from '../contracts/fields.ts'
import { OPERATOR_LINK_SECONDS } from '../contracts/limits.ts'
import { createOperatorResetLink } from '../cores/identity/index.ts'
import { deriveKey } from '../trust/derive-key.ts'
import type { Config } from './config.ts'
import { askControlSocket } from './control-socket.ts'
import { readSecrets, writePrivateFile } from './secrets.ts'
import { allowsPasswords } from './sign-in-settings.ts'

const MINUTES = OPERATOR_LINK_SECONDS / 60

export async function resetPasswordCommand(config: Config, given: string): Promise<void> {
  if (config.AUTH_MODE === 'hosted') {
    throw new Error('With AUTH_MODE=hosted the vendor signs people in: passwords are changed there.')
  }
  if (!allowsPasswords(config)) {
    throw new Error('Password sign-in is off. People sign in through the identity provider.')
  }
  const email = Email.safeParse(given)
  if (!email.success) throw new Error(`${given} is not an email address.`)
  const link = await resetLink(config, email.data)
  if (link === null) throw new Error(`No account signs in with ${email.data} and a password.`)
  const lines = [
    `Open this link within ${MINUTES} minutes to choose a new password for ${email.data}. It works once.`,
    '',
    `  ${link}`,
    '',
  ]
  if (process.stdout.isTTY) return print(lines.join('\n'))
  // Elsewhere it would end up in a log.
  makeDataFolder(config.SVC_DATA_DIR)
  const file = join(config.SVC_DATA_DIR, 'reset-password.txt')
  await writePrivateFile(file, `${lines.join('\n')}\n`)
  print(
    `The link for ${email.data} is in ${file}. It works once, for ${MINUTES} minutes. Read it, then delete it.`,
  )
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)

async function resetLink(config: Config, email: string): Promise<string | null> {
  if (config.DATABASE_URL !== undefined) return createLink(config, { url: config.DATABASE_URL }, email)
  const folder = config.SVC_DATA_DIR
  if (!existsSync(join(folder, 'db'))) throw new Error(`There is no database in ${folder}.`)
  const answer = await askControlSocket(folder, { command: 'reset-password', email })
  if (answer && 'error' in answer) throw new Error(answer.error)
  if (answer) return answer.link
  const lock = lockDataFolder(folder)
  try {
    return await createLink(config, { folder }, email)
  } finally {
    lock.release()
  }
}

async function createLink(
  config: Config,
  where: Parameters<typeof connect>[0],
  email: string,
): Promise<string | null> {
  // The secrets of the auth-service, whichever services run where this is called.
  const { JWT_SECRET = '', JWT_SIGNING_KEY = '' } = await readSecrets({
    ...config,
    SVC_SERVICES: ['auth-service'],
  })
  const { db, close } = await connect(where, { poolSize: 1, prepare: config.DATABASE_PREPARE })
  try {
    const link = await createOperatorResetLink(
      {
        db,
        clock: () => new Date(),
        keyFor: (purpose) => deriveKey({ jwtSecret: JWT_SECRET, jwtSigningKey: JWT_SIGNING_KEY }, purpose),
        pagesUrl: config.REDIRECT_BASE_URL ?? config.APP_URL,
      },
      email,
    )
    return link ?? null
  } finally {
    await close()
  }
}

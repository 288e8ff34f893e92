import { expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { limitsOf } from './limits-of.ts'
import { openTenantServer } from './managed-databases.ts'

const MIB = 1024 * 1024

test('the limits of tenants are those of the settings', () => {
  const env = {
    MANAGED_STATEMENT_SECONDS: '11',
    MANAGED_IDLE_TRANSACTION_SECONDS: '22',
    MANAGED_TEMP_FILE_MB: '33',
    MANAGED_CONNECTIONS: '44',
    MANAGED_DISK_MB: '55',
  }
  expect(limitsOf(readConfig(env)).tenantLimits).toEqual({
    statementSeconds: 11,
    idleTransactionSeconds: 22,
    temporaryFileBytes: 33 * MIB,
    connections: 44,
    diskBytes: 55 * MIB,
  })
})

test('a server is watched where managed databases are on one', async () => {
  const secret = '0'.repeat(64)
  const DATABASE_URL = 'postgres://svc@control.example/svc'
  const secrets = {
    JWT_SECRET: secret.replace('0', '1'),
    JWT_SIGNING_KEY: secret.replace('0', '2'),
    ACTOR_ASSERTION_SECRET: secret.replace('0', '3'),
    DATA_KEY: secret.replace('0', '4'),
  }
  const embedded = { ...secrets, DATABASE_URL, MANAGED_DATABASE_URL: 'embedded' }
  expect(openTenantServer(readConfig({}))).toBeUndefined()
  expect(openTenantServer(readConfig(embedded))).toBeUndefined()
  const server = openTenantServer(readConfig({ ...secrets, DATABASE_URL }))
  expect(server).toMatchObject({ host: 'control.example' })
  await server?.close()
})

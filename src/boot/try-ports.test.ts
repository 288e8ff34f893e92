import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../test/support/free-port.ts'
import { readConfig } from './config.ts'
import { PortInUse, tryPorts } from './try-ports.ts'

let taken: Server
let port: string
beforeAll(async () => {
  taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  port = String((taken.address() as AddressInfo).port)
})
afterAll(() => void taken.close())

const FREE = { PORT: '0', METRICS_PORT: 'off', MANAGED_DATABASE_PORT: '0' }
const POSTGRES = { DATABASE_URL: 'postgres://localhost/svc' }

test('ports that are free are free afterwards', async () => {
  const own = String(await freePort())
  for (let times = 0; times < 2; times++) {
    await expect(tryPorts(readConfig({ ...FREE, PORT: own }))).resolves.toBeUndefined()
  }
})

test.each(['PORT', 'METRICS_PORT', 'MANAGED_DATABASE_PORT'])(
  'a taken port is named with %s, which changes it',
  async (setting) => {
    const problem = tryPorts(readConfig({ ...FREE, [setting]: port }))
    await expect(problem).rejects.toThrow(
      `Port ${port} is in use. Stop the other program, or set ${setting}.`,
    )
    await expect(problem).rejects.toBeInstanceOf(PortInUse)
  },
)

test('two of ours on one port are named', async () => {
  const own = String(await freePort())
  const twice = { ...FREE, PORT: own, METRICS_PORT: own }
  for (const hosts of [{}, { HOST: '0.0.0.0' }]) {
    await expect(tryPorts(readConfig({ ...twice, ...hosts }))).rejects.toThrow(
      `PORT and METRICS_PORT are both ${own}. Change one of them.`,
    )
  }
  await expect(tryPorts(readConfig({ ...twice, METRICS_HOST: '127.0.0.2' }))).resolves.toBeUndefined()
})

test('with a Postgres server another process may serve the managed databases', async () => {
  for (const settings of [POSTGRES, { ...POSTGRES, MANAGED_DATABASE_URL: 'embedded' }]) {
    const config = readConfig({ ...FREE, ...settings, MANAGED_DATABASE_PORT: port })
    await expect(tryPorts(config)).resolves.toBeUndefined()
  }
})

test('an address of another machine is named with its setting', async () => {
  // RFC 5737: nobody's.
  await expect(tryPorts(readConfig({ ...FREE, HOST: '192.0.2.1' }))).rejects.toThrow(
    '192.0.2.1 is not an address of this machine. Set HOST.',
  )
})

/** The listener of a process, with services that a test makes up, and how to ask it what no client library would. */
import { request, type Agent, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { ADMISSION_LIMITS, createAdmission, type AdmissionLimits } from '../../src/boot/admission.ts'
import { readConfig, type ServiceName } from '../../src/boot/config.ts'
import { listen, type Listening } from '../../src/boot/listener.ts'
import type { System } from '../../src/boot/system.ts'
import type { Service } from '../../src/client/service.ts'
import type { Metrics } from '../../src/observe/metrics.ts'
import { createOpenAnswers } from '../../src/trust/open-answers.ts'
import { freePort } from './free-port.ts'

export type ListeningServices = {
  env?: Record<string, string>
  services?: Partial<Record<ServiceName, Service>>
  readiness?: System['readiness']
  metrics?: Metrics
  limits?: Partial<AdmissionLimits>
  log?: Pick<System['log'], 'warn'>
  noteRemote?: System['noteRemote']
}

/** Services that only say their name; `port` is known beforehand because addresses are made of it. */
export async function startListener({
  env = {},
  services,
  readiness,
  metrics,
  limits,
  log = { warn() {} },
  noteRemote = () => undefined,
}: ListeningServices = {}): Promise<Listening> {
  const named = services ?? {
    'api-gateway': saying('gateway'),
    'auth-service': saying('auth'),
    console: saying('console'),
  }
  const config = readConfig({ PORT: String(await freePort()), STOP_SECONDS: '5', ...env })
  const system = {
    config,
    services: new Map(Object.entries(named) as [ServiceName, Service][]),
    nodeHandlers: new Map(),
    readiness: readiness ?? (async () => ({ ready: true })),
    metrics,
    log,
    admission: createAdmission({ ...ADMISSION_LIMITS, ...limits }),
    answers: createOpenAnswers(),
    noteRemote,
  } as unknown as System
  return listen(system)
}

export const saying =
  (words: string): Service =>
  async () =>
    new Response(words)

type Asked = {
  path?: string
  method?: string
  headers?: Record<string, string | string[]>
  agent?: Agent
  host?: string
}
type Answered = { status: number; body: string; headers: IncomingMessage['headers'] }

/** Not `fetch`, which does not let us set the Host. */
export function ask(
  port: number,
  { path = '/api/v1/me', host = '127.0.0.1', ...rest }: Asked = {},
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const asking = request({ host, port, path, agent: false, ...rest }, (answer) => {
      text(answer).then(
        (body) => resolve({ status: answer.statusCode!, body, headers: answer.headers }),
        reject,
      )
    })
    asking.on('error', reject).end()
  })
}

/** The raw words of an answer, for requests no client library would send. */
export async function say(port: number, words: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(words)
  return text(socket)
}

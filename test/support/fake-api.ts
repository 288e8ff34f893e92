/** A server that answers operations as it is told to, and the client in this process that calls it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { REQUESTS } from '../../src/cli/requests.ts'
import { run } from '../../src/cli/run.ts'
import { fakeEnvironment } from './fake-environment.ts'

type Answers = Partial<Record<keyof typeof REQUESTS, object>>

/** What `svc` prints when it is called so, and what it last sent to each operation. */
export async function svcWith(
  answers: Answers,
  argv: string[],
  { cwd, terminal = false, stdin = '', more = {} }: Where,
) {
  const paths = Object.entries(answers).map(([name, answer]) => {
    const [method, template] = REQUESTS[name as keyof typeof REQUESTS]
    return { name, method, path: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`), answer }
  })
  const sent: Partial<Record<keyof typeof REQUESTS, { readonly url: string; readonly body: unknown }>> = {}
  const server = createServer((request, response) => {
    const [path] = request.url!.split('?')
    const found = paths.find((one) => one.method === request.method && one.path.test(path!))
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const isJson = request.headers['content-type']?.includes('json') ?? false
      if (found)
        sent[found.name as keyof typeof REQUESTS] = {
          url: request.url!,
          body: isJson ? JSON.parse(body) : body,
        }
      response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(found?.answer ?? { error: { code: 'NOT_FOUND', message: path } }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const env = { SVC_API_URL: `http://127.0.0.1:${port}`, SVC_API_KEY: 'svc_secret', ...more }
  const environment = fakeEnvironment({ env, cwd, terminal, stdin })
  try {
    return { exit: await run(argv, environment), out: environment.out(), err: environment.err(), sent }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

type Where = {
  readonly cwd: string
  readonly terminal?: boolean
  readonly stdin?: string
  /** Of the environment. */
  readonly more?: Record<string, string>
}

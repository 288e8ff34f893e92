/** A server that answers operations as it is told to, and the client in this process that calls it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { REQUESTS } from '../../src/cli/requests.ts'
import { run } from '../../src/cli/run.ts'
import { fakeEnvironment } from './fake-environment.ts'

type Answers = Partial<Record<keyof typeof REQUESTS, object>>

/** What `svc` prints when it is called so. */
export async function svcWith(answers: Answers, argv: string[], { cwd, terminal = false }: Where) {
  const paths = Object.entries(answers).map(([name, answer]) => {
    const [method, template] = REQUESTS[name as keyof typeof REQUESTS]
    return { method, path: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`), answer }
  })
  const server = createServer((request, response) => {
    const [path] = request.url!.split('?')
    const found = paths.find((one) => one.method === request.method && one.path.test(path!))
    request.resume().on('end', () => {
      response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(found?.answer ?? { error: { code: 'NOT_FOUND', message: path } }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const env = { SVC_API_URL: `http://127.0.0.1:${port}`, SVC_API_KEY: 'svc_secret' }
  const environment = fakeEnvironment({ env, cwd, terminal })
  try {
    return { exit: await run(argv, environment), out: environment.out(), err: environment.err() }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

type Where = { readonly cwd: string; readonly terminal?: boolean }

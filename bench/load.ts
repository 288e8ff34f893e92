/** Load on a program under measurement, and what it cost: requests a second and CPU time of each. */
import { Agent, request } from 'node:http'
import { cpuSeconds, median, type Program } from './programs.ts'

export const CONNECTIONS = 8

export type Load = { readonly perSecond: number; readonly cpuMs: number }
/** `lane` tells which of the connections it runs on: for work of which each piece needs the one before. */
type Work = (lane: number) => Promise<void>

/** Several programs that share the load are measured as one. */
export async function measured(
  programs: Program | readonly Program[],
  count: number,
  work: Work,
): Promise<Load> {
  const used = () => [programs].flat().reduce((sum, program) => sum + cpuSeconds(program), 0)
  const [cpu, started] = [used(), performance.now()]
  await inLanes(count, work)
  const seconds = (performance.now() - started) / 1000
  return { perSecond: count / seconds, cpuMs: ((used() - cpu) * 1000) / count }
}

export async function inLanes(count: number, work: Work): Promise<void> {
  let left = count
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, lane) => {
      while (left-- > 0) await work(lane)
    }),
  )
}

export const middle = (loads: readonly Load[]): Load => ({
  perSecond: median(loads.map((load) => load.perSecond)),
  cpuMs: median(loads.map((load) => load.cpuMs)),
})

export type Asking = { method?: string; headers?: Record<string, string>; body?: string; status?: number }

/** Sends the same kind of request again and again over kept connections; the answer's text for whoever wants it. */
export function sender(url: string, usual: Asking) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  return {
    send: (body = usual.body): Promise<string> =>
      new Promise((resolve, reject) => {
        const { method = 'GET', headers = {}, status = 200 } = usual
        const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
        request(url, { agent, method, headers: { ...headers, ...length } }, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          response.once('end', () => {
            if (response.statusCode === status) resolve(text)
            else reject(new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 300)}`))
          })
        })
          .once('error', reject)
          .end(body)
      }),
    close: () => agent.destroy(),
  }
}

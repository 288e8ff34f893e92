/** Logins of the client: its own endpoints as they stand on the wire, and the pages as their person sees them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../src/cli/run.ts'
import type { Call } from '../../src/client/http-client.ts'
import { ADDRESS_HEADER } from '../../src/client/service.ts'
import { CLI_CLIENT_ID, CLI_PATH, DEVICE_GRANT } from '../../src/contracts/cli-login.ts'
import { newAddress, readAnswer, type HttpAnswer } from './assistant.ts'
import { fakeEnvironment } from './fake-environment.ts'
import type { Person } from './make.ts'
import type { TestSystem } from './system.ts'
import { formOn, newWalker, signInOnPage, type Page, type Walker } from './walker.ts'

export type Endpoint = 'device_authorization' | 'par' | 'token' | 'revoke'

export async function askCli(
  system: Pick<TestSystem, 'fetch'>,
  endpoint: Endpoint,
  fields: Record<string, string>,
  { address = newAddress(), headers = {} }: { address?: string; headers?: Record<string, string> } = {},
): Promise<HttpAnswer> {
  return readAnswer(
    await system.fetch(`${CLI_PATH}/${endpoint}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        [ADDRESS_HEADER]: address,
        ...headers,
      },
      body: new URLSearchParams({ client_id: CLI_CLIENT_ID, ...fields }).toString(),
    }),
  )
}

export const startDevice = async (system: TestSystem, address = newAddress()) => {
  const { body } = await askCli(
    system,
    'device_authorization',
    { client_name: 'svc 9.9.9', host_name: 'build-machine' },
    { address },
  )
  return { deviceCode: String(body['device_code']), userCode: String(body['user_code']), address }
}

export const poll = (system: TestSystem, deviceCode: string, address?: string) =>
  askCli(system, 'token', { grant_type: DEVICE_GRANT, device_code: deviceCode }, address ? { address } : {})

export const renew = (system: TestSystem, refresh: string) =>
  askCli(system, 'token', { grant_type: 'refresh_token', refresh_token: refresh })

export async function signedInWalker(system: TestSystem, person: Person): Promise<Walker> {
  const walker = newWalker(system)
  await signInOnPage(walker, person.email)
  return walker
}

/** Types a code: the page that asks, or says what is wrong with it. */
export const typeCode = async (walker: Walker, code: string): Promise<Page> =>
  walker.submit(await walker.open('/auth/device'), 'Continue', { user_code: code })

export const decideOn = (
  walker: Walker,
  page: Page,
  decision: string,
  organization?: string,
): Promise<Page> =>
  walker.send(page, 'Allow', {
    ...formOn(page, 'Allow').fields,
    ...(organization !== undefined && { organization }),
    decision,
  })

export type CliSignIn = { readonly access: string; readonly refresh: string; readonly call: Call }

/** By a code, as on a machine without a browser. */
export async function signInCli(
  system: TestSystem,
  org: { readonly id: string },
  person: Person,
): Promise<CliSignIn> {
  const { deviceCode, userCode } = await startDevice(system)
  const walker = await signedInWalker(system, person)
  await decideOn(walker, await typeCode(walker, userCode), 'approve', org.id)
  const { body } = await poll(system, deviceCode)
  return tokensOf(system, body)
}

export function tokensOf(system: TestSystem, body: Record<string, unknown>): CliSignIn {
  const access = String(body['access_token'])
  return { access, refresh: String(body['refresh_token']), call: system.as({ token: access }) }
}

export type Browse = (url: string) => Promise<boolean>

/** The client in this process, with its saved contexts in `folder`; at a terminal where it is given a browser. */
export async function svcIn(folder: string, argv: string[], browse?: Browse) {
  const environment = {
    ...fakeEnvironment({
      terminal: browse !== undefined,
      env: { SVC_CONFIG_DIR: folder, BROWSER: 'browser' },
    }),
    ...(browse && { openInBrowser: browse }),
  }
  const exit = await run(argv, environment)
  return { exit, out: environment.out(), err: environment.err() }
}

export const readSaved = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8')) as {
    tokens: Record<string, string>
    logins: Record<string, { refresh_token: string; expires_at: string }>
  }

/** The browser of the same machine: signs in, decides, and goes back to the program. */
export const decidingBrowser =
  (
    system: TestSystem,
    person: Person,
    {
      decision,
      orgId,
      seen = {},
    }: { decision: string; orgId: string; seen?: { words?: string } | undefined },
  ): Browse =>
  async (url) => {
    const walker = newWalker(system, { overSockets: true })
    await signInOnPage(walker, person.email)
    const page = await walker.open(url)
    seen.words = page.words
    void decideOn(walker, page, decision, orgId).then((back) => walker.step(back))
    return true
  }

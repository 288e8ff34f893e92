/** Machine agents as they run: they have a credential, ask for tokens with it, and call tools. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import type * as z from 'zod'
import type { Call } from '../../src/client/http-client.ts'
import { createMachineAgent } from '../../src/contracts/machine-agents.ts'
import {
  newAddress,
  readAnswer,
  tokensIn,
  whoami,
  type HttpAnswer,
  type ListeningSystem,
} from './assistant.ts'
import { unique } from './make.ts'

type Asked = Partial<z.input<typeof createMachineAgent.input>>
export type MachineAgent = Awaited<ReturnType<typeof makeMachineAgent>>

export const makeMachineAgent = async (person: { readonly call: Call }, asked: Asked = {}) => {
  const made = await person.call(createMachineAgent, { name: unique('nightly'), ...asked })
  return { ...made, secret: made.secret ?? '' }
}

/** How a request proves who it is. */
export type Proof = { readonly headers?: Record<string, string>; readonly params?: Record<string, string> }

export const basic = ({ client_id, secret }: { client_id: string; secret: string }): Proof => ({
  headers: { authorization: `Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}` },
})

export const posted = ({ client_id, secret }: { client_id: string; secret: string }): Proof => ({
  params: { client_id, client_secret: secret },
})

/** As repeated parameters where a value is a list. */
export async function askForToken(
  { origin }: Pick<ListeningSystem, 'origin'>,
  { headers, params }: Proof,
  asked: Record<string, string | readonly string[]> = {},
  path = '/oauth/token',
): Promise<HttpAnswer> {
  const all = { ...(path === '/oauth/token' && { grant_type: 'client_credentials' }), ...params, ...asked }
  const body = new URLSearchParams(
    Object.entries(all).flatMap(([name, values]) => [values].flat().map((value) => [name, value])),
  )
  const response = await fetch(origin + path, {
    method: 'POST',
    headers: { 'x-forwarded-for': newAddress(), ...headers },
    body,
  })
  return readAnswer(response)
}

/** Whether it gets a token, and where that one leads. */
export async function comesIn(system: ListeningSystem, proof: Proof) {
  const answer = await askForToken(system, proof)
  if (answer.status !== 200) return { status: answer.status, error: answer.body.error }
  return whoami(system, tokensIn(answer).access)
}

export type KeyPair = {
  readonly privateKey: KeyObject
  readonly jwk: Record<string, unknown> & { kty: 'EC' }
}

export function newKeyPair(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kty: 'EC' } }
}

/** RFC 7523, as a client makes one; `claims` over or instead of the usual ones. */
export async function assertionOf(
  { origin }: Pick<ListeningSystem, 'origin'>,
  clientId: string,
  { privateKey }: Pick<KeyPair, 'privateKey'>,
  { alg = 'ES256', kid, ...claims }: { alg?: string; kid?: string } & Record<string, unknown> = {},
): Promise<Proof> {
  const now = Math.floor(Date.now() / 1000)
  const payload = { iss: clientId, sub: clientId, aud: origin, iat: now, exp: now + 300, jti: unique('jti') }
  const client_assertion = await new SignJWT({ ...payload, ...claims })
    .setProtectedHeader({ alg, ...(kid === undefined ? {} : { kid }) })
    .sign(privateKey)
  return {
    params: {
      client_assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    },
  }
}

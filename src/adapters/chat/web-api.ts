/** One call to the chat service's own API, which answers 200 to everything and says in the body what it meant. */
import * as z from 'zod'
import { readJson } from '../../contracts/read-json.ts'
import type { GuardedPost, Posted } from '../outbound/guarded-post.ts'

const Said = z.looseObject({ ok: z.boolean(), error: z.string().optional() })
export type Said = z.output<typeof Said>

type Call = {
  readonly path: string
  readonly token?: string
  readonly json?: Record<string, unknown>
  readonly form?: Record<string, string>
}

export type WebApi = (call: Call) => Promise<{ readonly posted: Posted; readonly said: Said | undefined }>

export const webApi =
  (post: GuardedPost, chatUrl: URL): WebApi =>
  async ({ path, token, json, form }) => {
    const posted = await post({
      url: new URL(path, chatUrl).href,
      headers: {
        'content-type': json ? 'application/json; charset=utf-8' : 'application/x-www-form-urlencoded',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: json ? JSON.stringify(json) : new URLSearchParams(form).toString(),
      // A token goes to nobody else.
      redirects: 0,
    })
    return {
      posted,
      said: posted.kind === 'answered' ? Said.safeParse(readJson(posted.text)).data : undefined,
    }
  }

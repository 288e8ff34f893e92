/** The tool `whoami`: for whom, where and with which rights the agent acts. */
import type { McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { whoAmI } from '../src/contracts/people.ts'
import { answering, published, type Workplace } from './tool.ts'

const NAME = 'whoami'
const INPUT = published(z.strictObject({}))

export function offerWhoAmI(server: McpServer, workplace: Workplace): void {
  server.registerTool(
    NAME,
    {
      title: 'Who am I',
      description: 'The user you act for, their organization and role, and the scopes you were granted.',
      inputSchema: INPUT,
      annotations: {
        readOnlyHint: whoAmI.readOnly,
        destructiveHint: whoAmI.destructive,
        idempotentHint: whoAmI.idempotent,
        openWorldHint: false,
      },
    },
    () =>
      answering(NAME, workplace, async () => {
        const { user, organization, role, scopes, client_id } = await workplace.call(whoAmI, {})
        return { user, organization, role, scopes, client: client_id ?? null }
      }),
  )
}

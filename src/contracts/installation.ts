/** The installation itself: its version and its addresses. */
import * as z from 'zod'
import { reading } from './operation.ts'

export const showInstallation = reading({
  service: 'api-gateway',
  name: 'showInstallation',
  summary: 'Retrieve the version of the installation and its addresses.',
  input: z.object({}),
  output: z.object({
    version: z.string(),
    api_url: z.string(),
    console_url: z.string(),
    mcp_url: z.string().describe('Of the endpoint for assistants.'),
  }),
  access: 'person',
  scope: 'any',
  http: { method: 'get', path: '/api/v1/installation' },
})

/** docs/errors.md: every error code and what to do about it. */
import { ERRORS } from '../../src/contracts/errors.ts'
import { table } from './table.ts'

export const errorsPage = (): string => `# Errors

<!-- Written by \`npm run generate\` from src/contracts/errors.ts. -->

Every failed request returns one of these codes, and no others. OAuth endpoints use the error names of their RFCs.

\`\`\`json
{
  "error": {
    "code": "INVALID_REQUEST",
    "message": "${ERRORS.INVALID_REQUEST.message}",
    "hint": "what to do next, if there is something to do",
    "problems": ["everything that is wrong with the input"],
    "request_id": "also in the x-request-id header"
  }
}
\`\`\`

The message may be more specific than the one below; a code never changes its meaning. "Exit" is the exit code of the
\`svc\` client.

${table(
  ['Code', 'Status', 'Exit', 'Message', 'What you can do', 'What the operator can do'],
  Object.entries(ERRORS).map(([code, { status, exit, message, user, operator }]) => [
    `\`${code}\``,
    String(status),
    String(exit),
    message,
    user,
    operator,
  ]),
)}
`

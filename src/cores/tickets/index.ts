/** The face of the tickets core. */
export { file } from './file-ticket.ts'
export { move } from './move-ticket.ts'
export { oneTicket, ticketsOf } from './read-tickets.ts'
export { reply } from './reply.ts'

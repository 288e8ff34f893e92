/** Set on a role in the transaction that creates it. Only what carries it is ours to alter and to drop. */
export const LOGIN_ROLE_COMMENT = 'svc: login of a managed database'

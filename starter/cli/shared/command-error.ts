import { ReportedError } from '../../document/reported-error.ts'

/** Why a command cannot go on, and what to do: printed as it stands. */
export class CommandError extends ReportedError {}

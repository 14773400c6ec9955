import { ReportedError } from '../../document/reported-error.ts'

/** Bad input: the command ends with its messages. */
export class InputError extends ReportedError {}

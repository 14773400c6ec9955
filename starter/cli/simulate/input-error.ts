import { ToldError } from '../shared/told-error.ts'

/** Bad input: the command ends with its messages. */
export class InputError extends ToldError {}

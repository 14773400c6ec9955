import { pathText } from './shape.ts'

/** An error in a field of an object. */
export interface FieldError {
  readonly path: readonly (string | number)[]
  /** Value, rule and remedy. */
  readonly message: string
}

/** Returns an error as one line for conditions and events. */
export function errorText({ path, message }: FieldError): string {
  return path.length === 0 ? message : `${pathText(path)} ${message}`
}

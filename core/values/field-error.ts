import { printable } from './printable.ts'
import { shortened } from './texts.ts'

export interface FieldError {
  readonly path: readonly (string | number)[]
  /** Value, rule and remedy. */
  readonly message: string
}

/** Returns an error as one line for conditions and events. */
export function errorText({ path, message }: FieldError): string {
  return path.length === 0 ? message : `${pathText(path)} ${message}`
}

/** `spec.containers[0].resources`, `metadata.labels["example.com/a"]`; on one line, whatever the keys are. */
export function pathText(path: FieldError['path']): string {
  return path.reduce<string>((all, key) => {
    if (typeof key === 'number') return `${all}[${key}]`
    if (!/^[\w-]{1,300}$/.test(key)) return `${all}[${printable(JSON.stringify(shortened(key, 300)))}]`
    return all === '' ? key : `${all}.${key}`
  }, '')
}

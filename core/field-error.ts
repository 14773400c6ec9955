/** Something that is wrong with a field of an object. */
export interface FieldError {
  readonly path: readonly (string | number)[]
  /** Value, rule and remedy. */
  readonly message: string
}

/** Returns a path as kubectl writes it: `spec.requirements[0].key`, with keys of maps in quotes where they need them. */
export function fieldText(path: FieldError['path']): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    if (!/^[A-Za-z0-9_-]+$/.test(key)) return `${text}[${JSON.stringify(key)}]`
    return text === '' ? key : `${text}.${key}`
  }, '')
}

/** Returns an error as one line for conditions and events. */
export function errorText({ path, message }: FieldError): string {
  return path.length === 0 ? message : `${fieldText(path)} ${message}`
}

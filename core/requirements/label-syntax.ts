// Kubernetes' rules for label keys and label values, with the texts of its API server.

const maxNameLength = 63
const maxPrefixLength = 253
const namePattern = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const valuePattern = `(${namePattern})?`
const prefixPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'

const charactersRule = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
const nameRule = `must consist of ${charactersRule} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${namePattern}')`
const valueRule = `a valid label must be an empty string or consist of ${charactersRule} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${valuePattern}')`
const prefixRule = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${prefixPattern}')`

const name = new RegExp(`^${namePattern}$`)
const value = new RegExp(`^${valuePattern}$`)
const prefix = new RegExp(`^${prefixPattern}$`)

const tooLong = (length: number) => `must be no more than ${length} bytes`

/** Returns the errors of a qualified name: an optional DNS prefix and a slash before the name. */
export function qualifiedNameErrors(text: string): readonly string[] {
  const parts = text.split('/')
  if (parts.length > 2) {
    return [`a qualified name ${nameRule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  const last = parts.at(-1) ?? ''
  return [
    ...(parts.length === 2 ? prefixErrors(parts[0] ?? '') : []),
    ...(last === '' ? ['name part must be non-empty'] : []),
    ...(last.length > maxNameLength ? [`name part ${tooLong(maxNameLength)}`] : []),
    ...(name.test(last) ? [] : [`name part ${nameRule}`]),
  ]
}

function prefixErrors(text: string): readonly string[] {
  if (text === '') return ['prefix part must be non-empty']
  return subdomainErrors(text).map((error) => `prefix part ${error}`)
}

/** Returns the errors of an object's name, or of a key's prefix: a DNS subdomain. */
export function subdomainErrors(text: string): readonly string[] {
  return [
    ...(text.length > maxPrefixLength ? [tooLong(maxPrefixLength)] : []),
    ...(prefix.test(text) ? [] : [prefixRule]),
  ]
}

/** Returns the errors of a label's value. */
export function labelValueErrors(text: string): readonly string[] {
  return [...(text.length > maxNameLength ? [tooLong(maxNameLength)] : []), ...(value.test(text) ? [] : [valueRule])]
}

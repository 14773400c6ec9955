/** Returns the text as a message shows it: whole, or its beginning when it is longer than 100 characters, or as many as `longest` says. */
export function shortened(text: string, longest = 100): string {
  return text.length > longest ? `${text.slice(0, longest - 3)}...` : text
}

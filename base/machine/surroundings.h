#pragma once
// What surrounds a program decides nothing about what it does.

namespace temper {

// The first thing in every main. Standard input, output and error that are closed become /dev/null, or the
// next file that is opened would be taken for them. Numbers are written with a point, whatever a library that
// was loaded before has set. Whoever makes a file may read it, whatever umask says.
// Without a PATH, which a compiler needs to find its parts, it is the system's.
void begin_process();

}  // namespace temper

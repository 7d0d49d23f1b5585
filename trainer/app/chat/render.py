"""Renders chat templates as transformers' apply_chat_template does. A template is a stranger's program: it runs in Jinja's sandbox, and
this process in one of the kernel's (template_renderer.cc), whose other end kills it where it computes too long.

A request and a reply are JSON behind their length in 4 bytes. Arguments: the socket's descriptor, the most bytes of memory, then folders of packages."""
import datetime
import json
import resource
import socket
import struct
import sys

sys.path[1:1] = sys.argv[3:]
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

MAX_CHARACTERS = 1 << 20  # of a rendered text, beyond ten times what its messages hold


class Generation(jinja2.ext.Extension):
    """{% generation %} … {% endgeneration %} marks what an assistant wrote, and renders what stands in it."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    def _same(self, caller):
        return caller()


class Refusal(jinja2.TemplateError):
    """What a template says of a conversation that it does not take."""


def refuse(message):
    raise Refusal(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def drawn(*_, **__):
    raise Refusal("it draws at random, so that no two texts of it need be alike")


def environment(now):
    # The day is fixed for a run: the same conversation is the same text on every day. The time of the day is any.
    clock = datetime.datetime.fromisoformat(now)
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    made.filters["tojson"] = to_json
    made.filters["random"] = made.globals["lipsum"] = drawn
    made.globals["raise_exception"] = refuse
    made.globals["strftime_now"] = clock.strftime
    return made


def words(error):
    text = str(error).split("\n")[0][:500].encode(errors="replace").decode()  # half of a pair of surrogates is no text
    return text if isinstance(error, Refusal) and text else f"{type(error).__name__}: {text}"


def bounded(parts, most):
    """The text of the parts, as long as it does not grow without end."""
    text, size = [], 0
    for part in parts:
        size += len(part)
        if size > most:
            raise MemoryError(f"it writes more than {most} characters")
        text.append(part)
    return "".join(text)


def rendered(template, names, question):
    most = MAX_CHARACTERS + 10 * sum(len(message["content"]) for message in question["messages"])
    try:
        parts = template.generate(messages=question["messages"], tools=None, documents=None,
                                  add_generation_prompt=question["generates"], **names)
        text = bounded(parts, most)
        text.encode()  # or it is no text
        return {"text": text}
    except Exception as error:  # whatever its program does wrong
        return {"error": words(error)}


def reply_to(request):
    try:
        template = environment(request["clock"]).from_string(request["template"])
    except Exception as error:
        return {"refused": words(error)}
    names = {**request["tokens"], **request["arguments"]}
    return {"rendered": [rendered(template, names, question) for question in request["questions"]]}


def receive(connection):
    head = connection.recv(4, socket.MSG_WAITALL)
    return json.loads(connection.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL)) if len(head) == 4 else None


def send(connection, reply):
    data = json.dumps(reply).encode()
    connection.sendall(struct.pack("<I", len(data)) + data)


def main():
    most = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        send(connection, {"ready": True})
        while (request := receive(connection)) is not None:
            send(connection, reply_to(request))


main()

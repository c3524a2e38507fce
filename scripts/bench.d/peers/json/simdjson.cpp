// simdjson for scripts/bench json: `simdjson request FILE SECONDS` prints nanoseconds a request line (parsed, and the same
// looked up as Kura's reader does), `simdjson text FILE SECONDS` megabytes a second.
#include <simdjson.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace simdjson;

static size_t on_demand(ondemand::parser &parser, const padded_string &line) {
    ondemand::document document = parser.iterate(line);
    ondemand::object request = document.get_object();
    size_t sum = 0;
    bool isTwo = false;
    std::string_view method;
    for (auto field : request) {
        std::string_view key = field.unescaped_key();
        if (key == "jsonrpc") {
            isTwo = std::string_view(field.value().get_string()) == "2.0";
        } else if (key == "id") {
            sum += std::string_view(field.value().raw_json_token()).size();
        } else if (key == "method") {
            method = field.value().get_string();
        } else if (key == "params") {
            ondemand::object params = field.value().get_object();
            for (auto parameter : params) {
                std::string_view name = parameter.unescaped_key();
                if (name == "collection" || name == "id") {
                    sum += std::string_view(parameter.value().get_string()).size();
                } else if (name == "value") {
                    sum += std::string_view(simdjson::to_json_string(parameter.value())).size();
                } else {
                    abort();
                }
            }
        } else {
            abort();
        }
    }
    if (!isTwo || method != "documents.put") abort();
    return sum;
}

static size_t whole(dom::parser &parser, const padded_string &line) {
    dom::element request = parser.parse(line);
    if (std::string_view(request["jsonrpc"]) != "2.0" || std::string_view(request["method"]) != "documents.put") abort();
    dom::element params = request["params"];
    return std::string_view(params["collection"]).size() + std::string_view(params["id"]).size() +
           (request["id"].is_null() ? 0 : 1) + (params["value"].is_object() ? 1 : 0);
}

template <typename Body> static double measure(double seconds, Body body) {
    auto start = std::chrono::steady_clock::now();
    double rounds = 0, time = 0;
    do {
        body();
        rounds += 1;
        time = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    } while (time < seconds * 1e9);
    return time / rounds;
}

int main(int, char **arguments) {
    padded_string text = padded_string::load(arguments[2]);
    double seconds = atof(arguments[3]);
    ondemand::parser lazy;
    dom::parser eager;
    size_t sum = 0;
    if (std::string(arguments[1]) == "request") {
        double time = measure(seconds, [&] { for (int at = 0; at < 1000; at++) sum += on_demand(lazy, text); });
        printf("simdjson (on demand)\t%f\n", time / 1000);
        time = measure(seconds, [&] { for (int at = 0; at < 1000; at++) sum += whole(eager, text); });
        printf("simdjson (DOM)\t%f\n", time / 1000);
    } else {
        double time = measure(seconds, [&] { dom::element document = eager.parse(text); sum += document.is_object(); });
        printf("simdjson (DOM)\t%f\n", text.size() / time * 1000);
    }
    fprintf(stderr, "%s %zu\n", get_active_implementation()->name().c_str(), sum);
}
